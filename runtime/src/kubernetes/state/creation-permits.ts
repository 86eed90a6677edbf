import type { ContainerSpec } from '../../driver.ts'
import type { KubeObject } from '../objects/object-types.ts'

/**
 * Decides which processors may be created. After a restore of the cluster's state, the Job of a processor may be missing although its program
 * still runs on its node, and only one processor may write. A processor that is missing for an unknown reason is therefore neither
 * created nor observed. `apply` starts it again, after the caller has prevented the old program from writing.
 */
export class CreationPermits {
  readonly #creatable = new Set<string>()
  readonly #restarting = new Set<string>()

  /** Permits the creation of an object that `apply` requests. */
  permit(name: string): void {
    this.#creatable.add(name)
  }

  /** Permits the creation of the object again after the cluster reports its deletion: this driver deletes it to restart its program. */
  permitRestart({ metadata }: KubeObject): void {
    this.#restarting.add(metadata.uid)
  }

  /** Records a change of an object. A permit ends when its object is created. */
  change({ metadata }: KubeObject, isDeleted: boolean): void {
    if (isDeleted && this.#restarting.delete(metadata.uid)) this.permit(metadata.name)
    else if (!isDeleted && metadata.deletionTimestamp === undefined) this.#creatable.delete(metadata.name)
  }

  /** Returns whether a program may be created. Only processors need a permit. */
  has({ restart, object }: Pick<ContainerSpec, 'restart'> & { object: string }): boolean {
    return restart !== 'on-failure' || this.#creatable.has(object)
  }
}
