import { existsSync, readFileSync } from 'node:fs'

/** When a test file ran, with its imports and hooks. */
export type FileTime = { project: string; file: string; tests: number; startedAtMs: number; endedAtMs: number }

const slowestCount = 40

/** Reads the times written by the reporter; empty if there are none. */
export const readTimes = (file: string): FileTime[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as FileTime)
    : []

const secondsOf = ({ startedAtMs, endedAtMs }: FileTime): number => (endedAtMs - startedAtMs) / 1000

/** The time from the first start to the last end, in seconds. Files that run concurrently count once. */
function elapsedSeconds(times: FileTime[]): number {
  const startedAtMs = Math.min(...times.map((time) => time.startedAtMs))
  return (Math.max(...times.map((time) => time.endedAtMs)) - startedAtMs) / 1000
}

/** A table of the slowest files and one of the projects, as lines of text. Times are in seconds. */
export function timeTable(times: FileTime[]): string[] {
  if (times.length === 0) return []
  const slowest = times.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, slowestCount)
  const projects = [...Map.groupBy(times, ({ project }) => project)]
  const row = (seconds: number, text: string) => `${seconds.toFixed(1).padStart(8)}  ${text}`
  const sum = (of: FileTime[]) => of.reduce((total, time) => total + secondsOf(time), 0)
  const countOf = (of: FileTime[]) =>
    `${of.length} files, ${of.reduce((total, { tests }) => total + tests, 0)} tests, ${sum(of).toFixed(0)} s in sum`
  return [
    `Seconds per test file${times.length > slowest.length ? `, the slowest ${slowest.length} of ${times.length}` : ''}:`,
    ...slowest.map((time) => row(secondsOf(time), `${time.file} (${time.project}, ${time.tests} tests)`)),
    'Seconds per project, from its first test file to its last:',
    ...projects.map(([project, of]) => row(elapsedSeconds(of), `${project}: ${countOf(of)}`)),
    row(elapsedSeconds(times), `all: ${countOf(times)}`),
  ]
}
