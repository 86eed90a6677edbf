/** Placeholder for the organization's token in the URL of a chain (spec 2.11). */
export const rpcTokenPlaceholder = '{TOKEN}'
