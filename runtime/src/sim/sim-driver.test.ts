import { type Behaviour, type Harness, driverSuite } from '../driver-suite.ts'
import { ManualClock } from '../manual-clock.ts'
import { BEHAVIOUR_VARIABLE, type SimBehaviour } from './behaviour.ts'
import { type SimDriverOptions, createSimDriver } from './sim-driver.ts'

driverSuite('sim', async () => {
  const clock = new ManualClock()
  const options: SimDriverOptions = {
    clock,
    behaviour: (_, { command }) => ({ cannotStart: `There is no command "${command[0]}"` }),
    hasImage: (image) => image === 'image-1',
  }
  const start = async (host = createSimDriver().host) => {
    const driver = createSimDriver({ ...options, host })
    await driver.start()
    return driver
  }
  const harness: Harness = {
    driver: await start(),
    image: 'image-1',
    enforcesMemory: true,
    program: (behaviour) => ({ command: ['play'], env: { [BEHAVIOUR_VARIABLE]: JSON.stringify(scriptOf(behaviour)) } }),
    advance: (ms) => clock.advance(ms),
    async eventually(check) {
      for (let attempt = 0; ; attempt++) {
        // Readers of logs run in between.
        await new Promise(setImmediate)
        try {
          return await check()
        } catch (error) {
          if (attempt === 100) throw error
        }
        clock.advance(5)
      }
    },
    kill: () => harness.driver.close('keep'),
    async revive() {
      harness.driver = await start((harness.driver as ReturnType<typeof createSimDriver>).host)
    },
    async traces() {
      const observed = await harness.driver.observe()
      return observed.map(({ workload, container }) => `${workload}/${container}`)
    },
    dispose: () => harness.driver.close('stop'),
  }
  return harness
})

function scriptOf({ print = [], printLast = '', ends = 'never' }: Behaviour): SimBehaviour {
  const script = { startMs: 1, print, printLast }
  if (ends === 'never') return script
  return {
    ...script,
    ends: ends === 'out of memory' ? { afterMs: 1, outOfMemory: true } : { afterMs: 1, exitCode: ends.exit },
  }
}
