import type { Host } from '../process/host.ts'
import { endIsolatedPrograms } from '../process/isolated-program.ts'
import { buildApp } from './build-app.ts'
import type { BuildBackend } from './build-backend.ts'
import { BUILD_NAME_PREFIX } from './build-step.ts'
import { openWorkspace } from './build-work.ts'

/** Runs the programs of builds as isolated programs of this host. */
export const hostBackend = (host: Host): BuildBackend => ({
  async open(context, plan) {
    await plan.request.onStart?.()
    const work = await openWorkspace({ ...context, host }, plan)
    return {
      run: () => buildApp(context, plan, work),
      isDiskFull: () => work.run.disk.isFull(),
      close: () => work.close(),
    }
  },
  recover: (owner) => endIsolatedPrograms(host, `${BUILD_NAME_PREFIX}${owner}.`),
})
