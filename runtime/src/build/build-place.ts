import type { BuiltApp } from './build-app.ts'
import type { BuildPlan } from './build-image.ts'
import type { BuilderContext } from './build-work.ts'

/** Where the programs of builds run. */
export type BuildPlace = {
  /** Prepares one build, and calls `onStart` of its request when its time begins. The caller must close it. */
  open(context: BuilderContext, plan: BuildPlan): Promise<OpenedBuild>
  /** Ends the programs that `owner`, a process that no longer exists, has left on this host. */
  recover(owner: string): Promise<void>
}

export type OpenedBuild = {
  /** Builds the app with its production dependencies and seals it. @throws BuildFailure */
  run(): Promise<BuiltApp>
  /** True if the build has used all of its disk space. */
  isDiskFull(): Promise<boolean>
  /** Ends what remains of the build and deletes its temporary files. */
  close(): Promise<void>
}
