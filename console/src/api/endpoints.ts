import { contract, endpointsOf } from '@shoal/contract'

/**
 * Method and path of each endpoint. The build runs this file and ships only its result (build/lean-contract.ts), so
 * that calling an endpoint loads no schema.
 */
export const endpoints = Object.fromEntries(
  endpointsOf(contract).map(([name, { method, path, access }]) => [
    name,
    { method, path, isPublic: access === 'public' },
  ]),
)
