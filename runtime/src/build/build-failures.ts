import type { BoxResult } from '../process/box.ts'
import { BuildFailure, type BuildLimits } from '../builder.ts'
import { errorCode } from '../error-code.ts'
import { relockCommand } from './manager-commands.ts'
import type { PackageManager } from './package-manager.ts'

/** A failed program of a build. */
export type FailedStep = {
  step: 'install' | 'build' | 'prune'
  command: string
  result: BoxResult
  /** The last lines of the output, oldest first. */
  tail: string[]
  limits: BuildLimits
  manager: PackageManager
}

/** Describes what failed and what the user can do. */
export function explain(failed: FailedStep): BuildFailure {
  const { tail } = failed
  const known = ofLimits(failed) ?? (failed.step === 'build' ? null : ofInstall(failed)) ?? ofHost(tail)
  const failure = known ?? {
    kind: 'SOURCE_FILES_BUILD_FAILED' as const,
    message: `${failed.command} ended with exit code ${failed.result.exitCode}${hint(failed)}.`,
  }
  return new BuildFailure(failure.kind, [failure.message, ...lastOutput(tail)].join('\n'))
}

type ClassifiedFailure = { kind: BuildFailure['kind']; message: string }

function ofLimits({ command, result, limits, tail }: FailedStep): ClassifiedFailure | null {
  const isHeapFull = tail.some((line) => /JavaScript heap out of memory|Reached heap limit/.test(line))
  if (result.outOfMemory || isHeapFull) {
    const limitMb = Math.round(limits.memoryBytes / 1e6)
    return fault(`${command} ran out of memory: a build may use ${limitMb} MB.`)
  }
  if (result.timedOut) {
    const limitMin = Math.round(limits.timeMs / 6000) / 10
    return fault(
      `${command} was stopped: a build may take ${limitMin} min. The last lines of its output may show what it was waiting for.`,
    )
  }
  return null
}

const OUT_OF_SYNC = [
  /can only install packages when your package\.json and/,
  /ERR_PNPM_OUTDATED_LOCKFILE/,
  /ERR_PNPM_LOCKFILE_CONFIG_MISMATCH/,
  /Your lockfile needs to be updated/,
  /YN0028/,
  /The lockfile would have been (created|modified)/,
]
const UNREADABLE = [
  /ERR_PNPM_BROKEN_LOCKFILE/,
  /ERR_PNPM_LOCKFILE_BREAKING_CHANGE/,
  /Invalid value type.*in.*yarn\.lock/,
  /Failed to parse .*lock/i,
  /EJSONPARSE/,
]
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT_LOCALLY)\b|\b50[0234] (Bad Gateway|Service Unavailable|Gateway Time-?out|Internal Server Error)/i

function ofInstall({ tail, manager }: FailedStep): ClassifiedFailure | null {
  const lockfile = manager.lockfile?.name ?? 'the lockfile'
  const matches = (patterns: RegExp[]) => tail.some((line) => patterns.some((pattern) => pattern.test(line)))
  if (matches(OUT_OF_SYNC)) {
    const message = `${lockfile} does not match package.json. Run \`${relockCommand(manager)}\` in the squid’s folder and deploy again.`
    return { kind: 'REQUIRED_SOURCE_FILE_INVALID', message }
  }
  if (matches(UNREADABLE)) {
    const message = `${lockfile} cannot be read. Run \`${relockCommand(manager)}\` in the squid’s folder and deploy again.`
    return { kind: 'REQUIRED_SOURCE_FILE_INVALID', message }
  }
  if (matches([UNREACHABLE])) {
    return {
      kind: 'UNEXPECTED',
      message: 'The package registry cannot be reached. This is not the squid’s fault: deploy again in a few minutes.',
    }
  }
  return null
}

const DISK_FULL = 'The disk of the build host is full. This is not the squid’s fault: tell the operator.'

function ofHost(tail: string[]): ClassifiedFailure | null {
  const isFull = tail.some((line) => /\bENOSPC\b|No space left on device/.test(line))
  return isFull ? { kind: 'UNEXPECTED', message: DISK_FULL } : null
}

/** Maps a full disk during the builder's own work to a `BuildFailure`; returns other errors unchanged. */
export function explainOwn(error: unknown): unknown {
  const code = errorCode(error)
  return code === 'ENOSPC' || code === 'EDQUOT' ? new BuildFailure('UNEXPECTED', DISK_FULL) : error
}

function fault(message: string): ClassifiedFailure {
  return { kind: 'SOURCE_FILES_BUILD_FAILED', message }
}

function hint({ result, step }: FailedStep): string {
  if (result.exitCode === 127) {
    return ': there is no such command. Check that the package that provides it is a dependency'
  }
  return step === 'install' ? ': the dependencies were not installed' : ''
}

/** The end of the output without uninformative lines. */
function lastOutput(tail: string[]): string[] {
  const isNoise = (line: string) =>
    line.trim() === '' || /A complete log of this run|^npm error\s*$|npm notice/.test(line)
  return tail.filter((line) => !isNoise(line)).slice(-12)
}
