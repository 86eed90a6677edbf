import { pathsOf } from './endpoint-paths.ts'

/**
 * All endpoints except those of the operator's console. `closeSupport` is included, because the support banner is on every page. The build
 * runs this file and ships only its result (build/lean-contract.ts), so that calling an endpoint loads no schema.
 */
export const endpoints = pathsOf((name) => !name.startsWith('operators.') || name === 'operators.closeSupport')
