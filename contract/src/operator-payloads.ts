import { z } from 'zod'
import { Id, Time } from './fields.ts'
import { orgStatuses } from './org-status.ts'
import { Squid } from './squid-payloads.ts'

/** How long an operator may make changes after entering the password. */
export const operatorPasswordMinutes = 10

/** The usage of an organization or version, for operators. */
export const OperatorUsage = z.object({
  /** Mean of the last five minutes. */
  cpuCores: z.number(),
  /** Mean of the last five minutes. */
  memoryBytes: z.number(),
  /** Used by the files of programs and by databases. */
  diskBytes: z.number(),
  /** Log lines of the last 24 hours. Lines are counted in blocks, so up to about a thousand older lines of each version are counted, too. */
  logLines: z.number(),
  /** Requests of the last 24 hours. */
  rpcRequests: z.number(),
})
export type OperatorUsage = z.infer<typeof OperatorUsage>

export const OperatorOrg = z.object({
  id: Id,
  code: z.string(),
  name: z.string().nullable(),
  isPlayground: z.boolean(),
  /** The email of the administrator who joined first; null without one. It distinguishes playgrounds, which all have the same name. */
  firstAdminEmail: z.string().nullable(),
  status: z.enum(orgStatuses),
  suspension: z.object({ at: Time, reason: z.string() }).nullable(),
  /** The number of versions. */
  squids: z.number(),
  /** The maximum number of versions. */
  squidsLimit: z.number(),
  /** This month's cost so far, without tax, in dollars. */
  costUsd: z.number(),
  usage: OperatorUsage,
  createdAt: Time,
})
export type OperatorOrg = z.infer<typeof OperatorOrg>

/** A version, with the organization that owns it. */
export const OperatorSquid = z.object({
  id: Id,
  name: z.string(),
  slot: z.string(),
  status: Squid.shape.status,
  organization: z.object({ code: z.string(), name: z.string().nullable(), isPlayground: z.boolean() }),
  /** See `OperatorOrg`. */
  firstAdminEmail: z.string().nullable(),
  usage: OperatorUsage,
  deployedAt: Time.nullable(),
})
export type OperatorSquid = z.infer<typeof OperatorSquid>

export const OperatorUser = z.object({
  id: Id,
  email: z.string(),
  fullName: z.string(),
  emailVerified: z.boolean(),
  isOperator: z.boolean(),
  disabledAt: Time.nullable(),
  sessions: z.number(),
  lastSeenAt: Time.nullable(),
  createdAt: Time,
})
export type OperatorUser = z.infer<typeof OperatorUser>
