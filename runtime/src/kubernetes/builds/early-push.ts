import type { BuildPlan } from '../../build/build-image.ts'
import { megabytes, seconds } from '../../build/build-log.ts'
import type { ImageRegistry } from '../../images/image-registry.ts'

/** Pushes the layer of new dependencies while the build script runs. Disposing it ends the push. */
export class EarlyPush {
  /** Resolves when the push has ended. A failed push is repeated with that of the image, which reports the reason. */
  ended = Promise.resolve()
  readonly #registry: ImageRegistry
  readonly #plan: BuildPlan
  readonly #cancel = new AbortController()

  constructor(registry: ImageRegistry, plan: BuildPlan) {
    this.#registry = registry
    this.#plan = plan
  }

  /** `modules`: the folder of the production dependencies, which must not change before `ended` resolves. */
  start(modules: string, dependencyKey: string): void {
    this.ended = this.#push(modules, dependencyKey).catch(() => undefined)
  }

  async #push(modules: string, dependencyKey: string): Promise<void> {
    const { log, request } = this.#plan
    const startedAt = performance.now()
    const signal = AbortSignal.any([request.signal, this.#cancel.signal])
    const onOmitted = (sentence: string) => log.warn(sentence)
    const bytes = await this.#registry.pushDependencies(request.tenant, modules, dependencyKey, { signal, onOmitted })
    if (bytes > 0) log.info(`Dependencies pushed: ${megabytes(bytes)} in ${seconds(performance.now() - startedAt)}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancel.abort()
    await this.ended
  }
}
