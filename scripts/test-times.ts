import { existsSync, readFileSync } from 'node:fs'

/** The time at which a test file ran, including its imports and hooks. */
export type FileTime = { project: string; file: string; tests: number; startedAtMs: number; endedAtMs: number }

const slowestCount = 40

/** Returns the times that the reporter has written; an empty list if the file does not exist. */
export const readTimes = (file: string): FileTime[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as FileTime)
    : []

const secondsOf = ({ startedAtMs, endedAtMs }: FileTime): number => (endedAtMs - startedAtMs) / 1000

/** Returns the seconds from the first start to the last end. The time of files that run concurrently counts once. */
function elapsedSeconds(times: FileTime[]): number {
  const startedAtMs = Math.min(...times.map((time) => time.startedAtMs))
  return (Math.max(...times.map((time) => time.endedAtMs)) - startedAtMs) / 1000
}

/** Returns the lines of two tables, of the slowest files and of the projects. Times are in seconds. */
export function timeTable(times: FileTime[]): string[] {
  if (times.length === 0) return []
  const slowest = times.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, slowestCount)
  const projects = [...Map.groupBy(times, ({ project }) => project)]
  const row = (seconds: number, text: string) => `${seconds.toFixed(1).padStart(8)}  ${text}`
  const sum = (files: FileTime[]) => files.reduce((total, time) => total + secondsOf(time), 0)
  const countOf = (files: FileTime[]) =>
    `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${files.reduce((total, { tests }) => total + tests, 0)} tests, ${sum(files).toFixed(0)} s summed over files`
  return [
    `Seconds per test file${times.length > slowest.length ? `, the slowest ${slowest.length} of ${times.length}` : ''}:`,
    ...slowest.map((time) => row(secondsOf(time), `${time.file} (${time.project}, ${time.tests} tests)`)),
    'Seconds per project, from its first test file to its last:',
    ...projects.map(([project, files]) => row(elapsedSeconds(files), `${project}: ${countOf(files)}`)),
    row(elapsedSeconds(times), `all: ${countOf(times)}`),
  ]
}
