import type { Observation } from '@shoal/runtime'
import type { StepContext } from './step.ts'

const firstMs = 10_000
const everyMs = 30_000
const tailLines = 10
const maxAnswer = 200
/** An answer is only redacted up to here; more of it is never shown. */
const maxRead = 20_000

/** A container that is not ready yet. `is`: a sentence. `answer`: what it answered, as it did. */
export type Awaited = { workload: string; container: string; is: string; answer: string | null }

export type WaitReport = {
  /** Writes to the deployment's log when it is time to: soon after the start, and every half minute. */
  about: (awaited: Awaited[]) => Promise<void>
  /** Writes at once that the program's last run ended; each end once. */
  ended: (observation: Observation, sentence: string) => Promise<void>
}

/** Tells in a deployment's log what it waits for, so that people see long before the end what is wrong. */
export function createWaitReport(context: StepContext): WaitReport {
  const { app, journal } = context
  let dueMs = app.clock.now().getTime() + firstMs
  const shownLines = new Map<string, string>()
  const toldEnds = new Set<string>()
  return {
    about: async (awaited) => {
      const nowMs = app.clock.now().getTime()
      if (awaited.length === 0 || nowMs < dueMs) return
      dueMs = nowMs + everyMs
      for (const one of awaited) {
        journal.warn(`Waiting for ${await sentenceOf(context, one)}`)
        await showLastLines(context, one, tailLines, shownLines)
      }
    },
    ended: async (observation, sentence) => {
      const { workload, container, lastRun } = observation
      const end = `${container} ${lastRun?.id} ${lastRun?.how}`
      if (toldEnds.has(end)) return
      toldEnds.add(end)
      journal.warn(sentence)
      await showLastLines(context, { workload, container }, tailLines, shownLines)
    },
  }
}

/** `api: It answers HTTP with status 500. Its answer begins with: …`. Without secrets, also where it is cut. */
export async function sentenceOf({ redact }: StepContext, { container, is, answer }: Awaited): Promise<string> {
  const text = answer === null ? '' : (await redact(answer.slice(0, maxRead))).replaceAll(/\s+/g, ' ').trim()
  return `${container}: ${is}${text ? ` Its answer begins with: ${text.slice(0, maxAnswer)}` : ''}`
}

/** The last lines of a container's log, unless they are those of `shown`. */
export async function showLastLines(
  { app, journal }: StepContext,
  { workload, container }: Pick<Observation, 'workload' | 'container'>,
  most: number,
  shown = new Map<string, string>(),
): Promise<void> {
  const lines = await app.runtime.tail(workload, container, most)
  const text = lines.join('\n')
  if (lines.length === 0 || shown.get(container) === text) return
  shown.set(container, text)
  journal.warn(`The last lines of ${container}:`)
  for (const line of lines) journal.output('warn', `${container} | ${line}`)
}
