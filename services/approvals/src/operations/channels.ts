import { bind } from '@guildhall/bus'
import {
  createChannel,
  inviteAgent,
  listAudit,
  listChannels,
  markRead,
  postMessage,
  react,
  readChannel,
  removeAgent,
} from '@guildhall/contracts'
import type { Deps } from '../deps.ts'
import { handleCreateChannel } from './create-channel.ts'
import { handleInviteAgent } from './invite-agent.ts'
import { handleListAudit } from './list-audit.ts'
import { handleListChannels } from './list-channels.ts'
import { handleMarkRead } from './mark-read.ts'
import { handlePostMessage } from './post-message.ts'
import { handleReact } from './react.ts'
import { handleReadChannel } from './read-channel.ts'
import { handleRemoveAgent } from './remove-agent.ts'

/** What was said, and what was done. */
export const bindChannels = (deps: Deps): readonly ReturnType<typeof bind>[] => [
  bind(listChannels, handleListChannels(deps)),
  bind(readChannel, handleReadChannel(deps)),
  bind(markRead, handleMarkRead(deps)),
  bind(postMessage, handlePostMessage(deps)),
  bind(react, handleReact(deps)),
  bind(createChannel, handleCreateChannel(deps)),
  bind(inviteAgent, handleInviteAgent(deps)),
  bind(removeAgent, handleRemoveAgent(deps)),
  bind(listAudit, handleListAudit(deps)),
]
