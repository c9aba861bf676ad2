/** Who gives a verdict, when it is no person or agent. As `by` of the verdict in the claim record. */
export const BY_AUTO = 'auto'
export const BY_COMMAND = 'command'
/** The command was not run at all, which says nothing about the work. */
export const BY_REFUSAL = 'command:refused'
