import { auth } from './auth.ts'
import { deployments } from './deployments.ts'
import { logs } from './logs.ts'
import { orgs } from './orgs.ts'
import { secrets } from './secrets.ts'
import { squids } from './squids.ts'
import { user } from './user.ts'

/** The whole API. Server, client, OpenAPI, permission tests and query keys are made from this tree. */
export const contract = { auth, user, orgs, squids, deployments, logs, secrets }
export type Contract = typeof contract

export * from './auth.ts'
export * from './client.ts'
export * from './deployments.ts'
export * from './endpoint.ts'
export * from './errors.ts'
export * from './fields.ts'
export * from './limits.ts'
export * from './logs.ts'
export * from './openapi.ts'
export * from './orgs.ts'
export * from './permissions.ts'
export * from './secrets.ts'
export * from './squid-status.ts'
export * from './squids.ts'
export * from './user.ts'
