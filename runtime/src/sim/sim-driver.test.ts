import { type Behaviour, type Harness, driverSuite } from '../driver-suite.ts'
import { ManualClock } from '../manual-clock.ts'
import { BEHAVIOUR_VARIABLE, type SimBehaviour } from './behaviour.ts'
import { type SimRuntimeOptions, createSimRuntime } from './sim-driver.ts'

driverSuite('sim', async () => {
  const clock = new ManualClock()
  const options: SimRuntimeOptions = {
    clock,
    behaviour: (_, { command }) => ({ cannotStart: `There is no command "${command[0]}"` }),
    hasImage: (image) => image === 'image-1',
  }
  const start = async (host = createSimRuntime().host) => {
    const runtime = createSimRuntime({ ...options, host })
    await runtime.start()
    return runtime
  }
  const runtime = await start()
  const harness: Harness = {
    runtime,
    directory: runtime.directory,
    openRemoteDirectory: 'simulated containers exist in the memory of one process; the server rejects such a gateway',
    unstarted: () => {
      const unstarted = createSimRuntime(options)
      return { runtime: unstarted, directory: unstarted.directory }
    },
    lacks: {},
    maxCrashes: 3,
    hasNodes: false,
    image: 'image-1',
    missingImage: 'no-such-image',
    enforcesMemory: true,
    program: (behaviour) => ({
      command: ['play'],
      env: { [BEHAVIOUR_VARIABLE]: JSON.stringify(simBehaviourOf(behaviour)) },
    }),
    advance: (ms) => clock.advance(ms),
    async eventually(check) {
      for (let attempt = 0; ; attempt++) {
        // Lets readers of logs run.
        await new Promise(setImmediate)
        try {
          return await check()
        } catch (error) {
          if (attempt === 100) throw error
        }
        clock.advance(5)
      }
    },
    kill: () => harness.runtime.close('keep'),
    async restart() {
      harness.runtime = await start((harness.runtime as ReturnType<typeof createSimRuntime>).host)
    },
    async leftovers() {
      const observed = await harness.runtime.observe()
      return observed.map(({ workload, container }) => `${workload}/${container}`)
    },
    dispose: () => harness.runtime.close('stop'),
  }
  return harness
})

function simBehaviourOf({ print = [], printLast = '', ends = 'never' }: Behaviour): SimBehaviour {
  const base = { startMs: 1, print, printLast }
  if (ends === 'never') return base
  return {
    ...base,
    ends: ends === 'out of memory' ? { afterMs: 1, outOfMemory: true } : { afterMs: 1, exitCode: ends.exit },
  }
}
