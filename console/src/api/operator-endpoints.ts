import { pathsOf } from './endpoint-paths.ts'

/** The endpoints that only the operator's console calls, which only its pages load. As in endpoints.ts, the build ships only the result. */
export const endpoints = pathsOf((name) => name.startsWith('operators.') && name !== 'operators.closeSupport')
