import type { Readable } from 'node:stream'
import { readAtLimitedRate } from '../../process/output-rate.ts'
import { LineSplitter } from '../../process/lines.ts'
import type { BuildStepName } from './build-actions.ts'

/** What a container reports while it performs its actions. */
export type BuildEvents = {
  onStart: (step: BuildStepName) => void
  /** Called for each line of the output of the current step. */
  onLine: (text: string) => void
  onExit: (exitCode: number, outOfMemory: boolean) => void
  /** Called for a link that the container did not send, because it leaves the folder. */
  onOmitted: (path: string) => void
  /** Called for all data, including pings. */
  onData: () => void
}

const STEPS: readonly unknown[] = ['install', 'build', 'prune'] satisfies BuildStepName[]
/** Maximum number of calls of `onOmitted`. */
const MAX_OMITTED = 100

/**
 * Reads events in lines of JSON, at a limited rate, until the stream ends. Ignores invalid events, since the squid's programs can
 * send anything. Resolves with true if the container has reported that it performed all of its actions.
 */
export async function readBuildEvents(stream: Readable, events: BuildEvents): Promise<boolean> {
  const splitter = new LineSplitter()
  const outputs = { stdout: new LineSplitter(), stderr: new LineSplitter() }
  let isDone = false
  let omitted = 0
  const readEvent = (text: string): number => {
    const event = parseEvent(text)
    let lines = 0
    for (const name of ['stdout', 'stderr'] as const) {
      const piece = event[name]
      if (typeof piece !== 'string') continue
      for (const line of outputs[name].push(Buffer.from(piece))) {
        events.onLine(line)
        lines += 1
      }
    }
    if (STEPS.includes(event['start'])) events.onStart(event['start'] as BuildStepName)
    if (Number.isInteger(event['exit'])) {
      for (const output of Object.values(outputs)) output.flush().forEach((line) => events.onLine(line))
      events.onExit(event['exit'] as number, event['outOfMemory'] === true)
    }
    if (typeof event['omitted'] === 'string' && (omitted += 1) <= MAX_OMITTED) events.onOmitted(event['omitted'])
    isDone ||= event['done'] === true
    return lines
  }
  await readAtLimitedRate(stream, (chunk) => {
    events.onData()
    let lines = 0
    for (const text of splitter.push(chunk)) lines += 1 + readEvent(text)
    return lines
  })
  return isDone
}

function parseEvent(text: string): Record<string, unknown> {
  try {
    const event: unknown = JSON.parse(text)
    return typeof event === 'object' && event !== null ? { ...event } : {}
  } catch {
    return {}
  }
}
