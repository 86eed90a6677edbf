import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from './replace-file.ts'

/**
 * One kind of protection on this host. `state`: what is used. `isProtected`: squids have this protection, even if it is weaker than it could
 * be. `problems`: what it does not protect, as sentences for operators.
 */
export type ProtectionReport = { state: string; isProtected: boolean; problems: string[] }

/** The protections of squids on this host. */
export type HostReport = Record<'sandbox' | 'limits' | 'disk' | 'network' | 'users', ProtectionReport>

/** A report and the time at which a worker recorded it. */
export type RecordedHostReport = { at: string; report: HostReport }

const reportFile = (stateDir: string) => join(stateDir, 'host.json')

/**
 * Records the report of the active worker. Other processes read it instead of inspecting the host: they may have other rights, and
 * detecting the network would disturb the worker's networks.
 */
export const recordHostReport = (stateDir: string, report: HostReport): void =>
  replaceFile(reportFile(stateDir), JSON.stringify({ at: new Date().toISOString(), report }))

/** Reads the report of the last active worker of this state directory; null if there is none, or if an earlier release recorded it. */
export function readHostReport(stateDir: string): RecordedHostReport | null {
  try {
    const recorded = JSON.parse(readFileSync(reportFile(stateDir), 'utf8')) as RecordedHostReport
    const isComplete = Object.values(recorded.report).every(({ isProtected }) => typeof isProtected === 'boolean')
    return isComplete ? recorded : null
  } catch {
    return null
  }
}
