import { heartbeatMs } from '../../installation/heartbeat.ts'
import type { Replica } from '../../installation/replicas-store.ts'

/** Whether a process has sent one of its last three heartbeats. */
export const isAlive = ({ silentMs }: Pick<Replica, 'silentMs'>): boolean => silentMs <= 3 * heartbeatMs
