import { z } from 'zod'
import { deploymentStatuses, deploymentTypes } from './deployments.ts'
import { Id, Time } from './fields.ts'

/** A problem of the installation, with what the operator should do. */
export const Finding = z.object({
  severity: z.enum(['bad', 'warn']),
  /** What the finding is about, such as `Postgres of squids`. */
  subject: z.string(),
  /** What was found, in one sentence. */
  text: z.string(),
  /** When the problem began; null if that is unknown. */
  since: Time.nullable(),
  /** What the operator should do, in one sentence. */
  remedy: z.string(),
})
export type Finding = z.infer<typeof Finding>

/** The rounds of one periodic loop in one process. */
const Loop = z.object({
  name: z.string(),
  intervalMs: z.number(),
  /** The duration of the last round; null before the end of the first one. */
  lastMs: z.number().nullable(),
  lastEndedAt: Time.nullable(),
  /** Failed rounds since the last success. */
  failures: z.number(),
  /** The error of the last round; null if it succeeded. */
  error: z.string().nullable(),
})

/** A process of the installation, as its last heartbeat describes it. */
export const Replica = z.object({
  id: z.string(),
  /** `host/pid` */
  name: z.string(),
  version: z.string(),
  roles: z.array(z.string()),
  worker: z.enum(['active', 'standby']).nullable(),
  /** False if it has sent no heartbeat for half a minute. */
  isAlive: z.boolean(),
  problems: z.array(z.string()),
  startedAt: Time,
  seenAt: Time,
  loops: z.array(Loop),
  /** The disk of its data directory, in bytes; deployments are refused while less than `reserve` is free. */
  disk: z.object({ free: z.number(), size: z.number(), reserve: z.number() }).nullable(),
})
export type Replica = z.infer<typeof Replica>

export const OperatorOverview = z.object({
  /** Most severe first. */
  findings: z.array(Finding),
  replicas: z.array(Replica),
  /** `oldestAt`: when the oldest of them was requested. */
  deployments: z.object({ running: z.number(), queued: z.number(), oldestAt: Time.nullable() }),
  /** `connections` is null for a server that does not respond. */
  postgres: z.array(
    z.object({ name: z.string(), connections: z.object({ open: z.number(), max: z.number() }).nullable() }),
  ),
  /**
   * Slow statements on the control plane's database, those with the greatest total time first. `POSTGRES`: measured by Postgres
   * (pg_stat_statements), without the time that processes wait for a connection. `PROCESSES`: measured by the processes, if
   * Postgres does not have this extension.
   */
  statements: z.object({
    source: z.enum(['POSTGRES', 'PROCESSES']),
    /** When Postgres began to measure; null for `PROCESSES`, where each process measures from its start. */
    since: Time.nullable(),
    list: z.array(
      z.object({
        text: z.string(),
        calls: z.number(),
        meanMs: z.number(),
        maxMs: z.number(),
        /** The process that measured it; null for `POSTGRES`. */
        replica: z.string().nullable(),
      }),
    ),
  }),
  /** `isExternal`: Postgres is not part of the installation, and its own tools back it up. */
  backup: z.object({ at: Time.nullable(), isExternal: z.boolean() }),
  certificates: z.array(
    z.object({
      name: z.string(),
      /** Null before the first order has succeeded. */
      validUntil: Time.nullable(),
      /** Why the last order failed. */
      error: z.string().nullable(),
    }),
  ),
})
export type OperatorOverview = z.infer<typeof OperatorOverview>

/** A deployment that has not ended. */
export const OperatorDeployment = z.object({
  id: Id,
  organization: z.object({ code: z.string(), name: z.string().nullable() }),
  /** `name@slot` */
  reference: z.string(),
  type: z.enum(deploymentTypes),
  step: z.enum(deploymentStatuses),
  /** Null before the step has started. */
  stepStartedAt: Time.nullable(),
  createdAt: Time,
  /** The process that runs it, as `host/pid`; null before a worker has claimed it. */
  worker: z.string().nullable(),
  /** Why it waits; null while it is running. */
  waitsFor: z.string().nullable(),
})
export type OperatorDeployment = z.infer<typeof OperatorDeployment>
