import { type FailedStep, explainStepFailure } from '../../build/build-failures.ts'
import type { BuildPlan } from '../../build/build-image.ts'
import { seconds } from '../../build/build-log.ts'
import type { BuildFailure } from '../../builder.ts'
import type { BuildAction, BuildStepName } from './build-actions.ts'
import type { BuildEvents } from './build-events.ts'

type Step = { name: BuildStepName; command: string; startedAt: number; tail: string[]; onLine: (text: string) => void }

/** Writes the steps of a build, from the events of its containers, to the deployment's log, as builds on a host do. */
export class BuildProgress implements BuildEvents {
  readonly #plan: BuildPlan
  readonly #commands: Map<BuildStepName, string>
  readonly #onFailure: (failure: BuildFailure) => void
  #step: Step | null = null
  /** When the containers last sent anything, by `performance.now()`; null: never. */
  lastDataAt: number | null = null
  onData = (): void => {
    this.lastDataAt = performance.now()
  }

  /** `onFailure`: called when a step other than `prune` has failed. */
  constructor(plan: BuildPlan, actions: BuildAction[], onFailure: (failure: BuildFailure) => void) {
    this.#plan = plan
    this.#onFailure = onFailure
    this.#commands = new Map(
      actions.flatMap((action) => (action.do === 'run' ? [[action.step, action.command.join(' ')]] : [])),
    )
  }

  onStart = (name: BuildStepName): void => {
    const command = this.#commands.get(name)
    if (command === undefined) return
    const isQuiet = name === 'prune'
    if (!isQuiet) this.#plan.log.info(`$ ${command}`)
    this.#step = { name, command, startedAt: performance.now(), ...this.#plan.log.capture(isQuiet) }
  }

  onLine = (text: string): void => this.#step?.onLine(text)

  onExit = (exitCode: number, outOfMemory: boolean): void => {
    const step = this.#step
    if (step === null) return
    if (exitCode === 0) {
      const elapsed = seconds(performance.now() - step.startedAt)
      if (step.name !== 'prune') this.#plan.log.info(`${step.command}: done in ${elapsed}`)
    } else {
      const failure = this.explain({ exitCode, outOfMemory })
      if (step.name === 'prune') this.#plan.log.warn(`Development dependencies remain in the image. ${failure.message}`)
      else this.#onFailure(failure)
    }
    this.#step = null
  }

  onOmitted = (path: string): void =>
    this.#plan.log.warn(`${path} is not in the image, because it is a link that points outside the squid's folder`)

  /** Explains why the build ended, with the same texts as for a failed step on a host. */
  explain(result: Partial<FailedStep['result']>): BuildFailure {
    const { request, manager } = this.#plan
    const { name = 'build', command = 'The build', tail = [] } = this.#step ?? {}
    return explainStepFailure({
      step: name,
      command,
      result: { exitCode: 137, outOfMemory: false, timedOut: false, aborted: false, ...result },
      tail,
      limits: request.limits,
      manager,
      // The files of builds share the disk of their node.
      hasOwnDisk: false,
    })
  }
}
