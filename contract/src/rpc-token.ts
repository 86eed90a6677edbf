/** Stands in the address of a chain where the organization's token belongs (spec 2.11). */
export const rpcTokenPlaceholder = '{TOKEN}'
