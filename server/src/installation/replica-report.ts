import type { LoopReport } from '../health/loops.ts'
import type { SlowStatement } from '../db/slow-statements.ts'

/** What a process reports about itself with each heartbeat. It names no organization and no secret. */
export type ReplicaReport = {
  version: string
  roles: string[]
  /** Null without the worker role. */
  worker: 'active' | 'standby' | null
  /** What does not work in this process, in one sentence each. */
  problems: string[]
  loops: LoopReport[]
  statements: SlowStatement[]
  /** The disk of the data directory, in bytes; null if it could not be read. `reserve`: deployments are refused while less is free. */
  disk: { free: number; size: number; reserve: number } | null
  /** When `shoal backup` last completed in this data directory, as an ISO time; null if it never did. */
  lastBackupAt: string | null
  /** When the certificate of `SHOAL_TLS_CERTIFICATE_FILE` ends, as an ISO time; null without that setting. */
  certificateUntil: string | null
}
