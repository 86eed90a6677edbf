/** Names that would conflict with paths of the API, or with host names and paths of the gateway, or that visitors would take for the operator's. */
const reservedCodes =
  'admin api app console docs gateway healthz metrics outbox portal readyz rpc shoal static status support verify-email www'.split(
    ' ',
  )

/** Whether organizations and their status pages may not use a code or address, because it belongs to the operator. */
export const isReservedCode = (code: string): boolean => reservedCodes.includes(code)
