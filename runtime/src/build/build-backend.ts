import type { BuiltApp } from './build-app.ts'
import type { BuildPlan } from './build-image.ts'
import type { BuilderContext } from './build-work.ts'

/** Runs the programs of builds: on this host (`hostBackend`), or in Jobs of a cluster (`jobBackend`). */
export type BuildBackend = {
  /** Prepares a build, and calls the request's `onStart` when its time limit starts to count. The caller must close the build. */
  open(context: BuilderContext, plan: BuildPlan): Promise<OpenedBuild>
  /** Ends the build programs on this host that were started by `owner`, a process that no longer exists. */
  recover(owner: string): Promise<void>
}

export type OpenedBuild = {
  /** Builds the app with its production dependencies and seals it. @throws BuildFailure */
  run(): Promise<BuiltApp>
  /** True if the build has used all of its disk space. */
  isDiskFull(): Promise<boolean>
  /** Ends the remaining programs of the build and deletes its temporary files. */
  close(): Promise<void>
}
