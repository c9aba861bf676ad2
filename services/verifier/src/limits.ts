import { COMMAND_OUTPUT_MAX_BYTES } from '@guildhall/contracts'

/** Numbers of this service alone; those that a tree can ask for stand in contracts. */

export const COMMANDS_AT_ONCE_DEFAULT = 2
export const COMMANDS_AT_ONCE_MAX = 64

/** Far below the time after which the server takes a silent worker for dead. */
export const WORKING_EVERY_MS = 2_500

/** A command that no worker survives is not tried for ever. */
export const DELIVERIES_MAX = 10

/** Of the output the beginning and the end are kept: where it went wrong, and the summary. */
export const OUTPUT_HEAD_BYTES = COMMAND_OUTPUT_MAX_BYTES / 4
export const OUTPUT_TAIL_BYTES = COMMAND_OUTPUT_MAX_BYTES - OUTPUT_HEAD_BYTES
/** For the line between the two, which says how much is not there. */
export const OUTPUT_GAP_BYTES = 64
/** Whoever writes more than this is stopped: reading it costs more than it can tell. */
export const OUTPUT_READ_MAX_BYTES = 256 * 1024 * 1024
/** How long output that is still on its way is waited for after everything has ended. */
export const OUTPUT_CLOSE_WAIT_MS = 1_000

/** Below everything else on the machine. */
export const NICENESS = 10

/** Kills go on until nothing is left; what is born faster than this is the pod's to stop. */
export const KILL_ROUNDS_MAX = 100
export const KILL_ROUND_WAIT_MS = 20
