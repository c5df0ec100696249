"""What people can say to a conversation besides words: the commands, carried out."""

from hermes_actors.actors.commands.desk import Desk as Desk
