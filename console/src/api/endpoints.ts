import { contract, endpointsOf } from '@shoal/contract'

/**
 * Method and path of each endpoint; a path begins with `!` if the endpoint needs no session. The build runs this file and ships only
 * its result (build/lean-contract.ts), so that calling an endpoint loads no schema. The format is terse, since every page loads it.
 */
export const endpoints = Object.fromEntries(
  endpointsOf(contract).map(([name, { method, path, access }]) => [
    name,
    `${method} ${access === 'public' ? '!' : ''}${path}`,
  ]),
)
