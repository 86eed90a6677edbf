import { contract, endpointsOf } from '@shoal/contract'

/**
 * Where each endpoint is. The build runs this file and ships its outcome (build/lean-contract.ts): to call an endpoint
 * the browser needs no schema of it.
 */
export const endpoints = Object.fromEntries(
  endpointsOf(contract).map(([name, { method, path, access }]) => [
    name,
    { method, path, isPublic: access === 'public' },
  ]),
)
