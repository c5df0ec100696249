"""The actor kernel. It knows mailboxes, lives and addresses, and nothing of what they are for."""

from hermes_actors.runtime.actor import Actor as Actor
from hermes_actors.runtime.life import Ended as Ended
from hermes_actors.runtime.life import How as How
from hermes_actors.runtime.life import Life as Life
from hermes_actors.runtime.mailbox import Mailbox as Mailbox
from hermes_actors.runtime.mailbox import Reply as Reply
from hermes_actors.runtime.ref import Down as Down
from hermes_actors.runtime.ref import Ref as Ref
from hermes_actors.runtime.registry import Registry as Registry
from hermes_actors.runtime.registry import Spawner as Spawner
from hermes_actors.runtime.system import DeadLetter as DeadLetter
from hermes_actors.runtime.system import System as System
from hermes_actors.runtime.tree import Node as Node
from hermes_actors.runtime.tree import render as render
