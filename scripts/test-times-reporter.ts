import { appendFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'
import type { FileTime } from './test-times.ts'

/** A reporter for vitest. Appends one JSON line for each test file to the file in SHOAL_TEST_TIMES. */
export default class TestTimesReporter implements Reporter {
  readonly #startedAtMs = new Map<string, number>()

  onTestModuleQueued(module: TestModule): void {
    this.#startedAtMs.set(module.id, Date.now())
  }

  onTestModuleEnd(module: TestModule): void {
    const output = process.env['SHOAL_TEST_TIMES']
    if (!output) return
    const endedAtMs = Date.now()
    const time: FileTime = {
      project: module.project.name,
      file: module.relativeModuleId,
      tests: [...module.children.allTests()].length,
      startedAtMs: this.#startedAtMs.get(module.id) ?? endedAtMs,
      endedAtMs,
    }
    appendFileSync(output, `${JSON.stringify(time)}\n`)
  }
}
