import { pathsOf } from './endpoint-paths.ts'

/** The endpoints that only the operator's console calls. Only its pages load them. As with endpoints.ts, the build ships only the result. */
export const endpoints = pathsOf((name) => name.startsWith('operators.') && name !== 'operators.closeSupport')
