import type { ProgramResult } from '../process/isolated-program.ts'
import { BuildFailure, type BuildLimits } from '../builder.ts'
import { errorCode } from '../error-code.ts'
import { OUT_OF_SPACE } from '../exit-message.ts'
import { lockfileUpdateCommand } from './manager-commands.ts'
import type { PackageManager } from './package-manager.ts'

/** A failed program of a build. */
export type FailedStep = {
  step: 'install' | 'build' | 'prune'
  command: string
  result: ProgramResult
  /** The last lines of the output, oldest first. */
  tail: string[]
  limits: BuildLimits
  manager: PackageManager
  /** True if the build's files are on a separate disk that only the build can fill. */
  hasOwnDisk: boolean
}

/** Describes the failure of a step, and what the user can do about it. */
export function explainStepFailure(failed: FailedStep): BuildFailure {
  const { tail } = failed
  const classified =
    limitFailure(failed) ?? (failed.step === 'build' ? null : installFailure(failed)) ?? hostFailure(tail)
  const failure = classified ?? {
    kind: 'SOURCE_FILES_BUILD_FAILED' as const,
    message: `${failed.command} ended with exit code ${failed.result.exitCode}${exitHint(failed)}.`,
  }
  return new BuildFailure(failure.kind, [failure.message, ...lastOutput(tail)].join('\n'))
}

type ClassifiedFailure = { kind: BuildFailure['kind']; message: string }

function limitFailure({ command, result, limits, tail, hasOwnDisk }: FailedStep): ClassifiedFailure | null {
  const isHeapFull = tail.some((line) => /JavaScript heap out of memory|Reached heap limit/.test(line))
  if (result.outOfMemory || isHeapFull) {
    const limitMb = Math.round(limits.memoryBytes / 1e6)
    return squidFailure(`${command} ran out of memory: a build may use ${limitMb} MB.`)
  }
  if (tail.some((line) => OUT_OF_SPACE.test(line)) && (hasOwnDisk || tail.some((line) => FILE_TOO_LARGE.test(line)))) {
    return outOfDisk(command, limits)
  }
  if (result.timedOut) {
    const limitMin = Math.round(limits.timeMs / 6000) / 10
    return squidFailure(
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
  /Invalid value type \S+ in .*yarn\.lock/,
  /Failed to parse .*lock/i,
  /EJSONPARSE/,
]
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT_LOCALLY)\b|\b50[0234] (Bad Gateway|Service Unavailable|Gateway Time-?out|Internal Server Error)/i

function installFailure({ tail, manager }: FailedStep): ClassifiedFailure | null {
  const lockfile = manager.lockfile?.name ?? 'the lockfile'
  const matches = (patterns: RegExp[]) => tail.some((line) => patterns.some((pattern) => pattern.test(line)))
  if (matches(OUT_OF_SYNC)) {
    const message = `${lockfile} does not match package.json. Run \`${lockfileUpdateCommand(manager)}\` in the squid’s folder and deploy again.`
    return { kind: 'REQUIRED_SOURCE_FILE_INVALID', message }
  }
  if (matches(UNREADABLE)) {
    const message = `${lockfile} cannot be read. Run \`${lockfileUpdateCommand(manager)}\` in the squid’s folder and deploy again.`
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

const FILE_TOO_LARGE = /\bEFBIG\b|File too large/

/** Returns the failure of a build that has used all of its disk space. `program`: the subject of the message. */
export function outOfDisk(program: string, limits: BuildLimits): BuildFailure {
  const limitMb = Math.round(limits.diskBytes / 1e6)
  const message = `${program} ran out of disk space: the files of a build, with its dependencies, may use ${limitMb} MB.`
  return new BuildFailure('SOURCE_FILES_BUILD_FAILED', message)
}

const DISK_FULL = 'The disk of the build host is full. This is not the squid’s fault: please contact the operator.'

function hostFailure(tail: string[]): ClassifiedFailure | null {
  const isFull = tail.some((line) => /\bENOSPC\b|No space left on device/.test(line))
  return isFull ? { kind: 'UNEXPECTED', message: DISK_FULL } : null
}

/** Maps a full disk during the builder's own work to a `BuildFailure`; returns other errors unchanged. */
export function explainBuilderError(error: unknown): unknown {
  const code = errorCode(error)
  const isFull = code === 'ENOSPC' || code === 'EDQUOT' || isFullInProgram(error)
  return isFull ? new BuildFailure('UNEXPECTED', DISK_FULL) : error
}

/** True if the output in the error's message shows that a program of the builder, such as `cp`, failed because of a full disk. */
const isFullInProgram = (error: unknown): boolean =>
  error instanceof Error &&
  !(error instanceof BuildFailure) &&
  /No space left on device|Disk quota exceeded/.test(error.message)

function squidFailure(message: string): ClassifiedFailure {
  return { kind: 'SOURCE_FILES_BUILD_FAILED', message }
}

function exitHint({ result, step }: FailedStep): string {
  if (result.exitCode === 127) {
    return ': there is no such command. Check that the package that provides it is a dependency'
  }
  return step === 'install' ? ': the dependencies were not installed' : ''
}

/** Returns the end of the output without uninformative lines. */
function lastOutput(tail: string[]): string[] {
  const isUninformative = (line: string) =>
    line.trim() === '' || /A complete log of this run|^npm error\s*$|npm notice/.test(line)
  return tail.filter((line) => !isUninformative(line)).slice(-12)
}
