import fc from 'fast-check'

/** The steps of a deployment that do work. Only a deployment with `--hard-reset` has the step RESETTING. */
export const steps = [
  'UNPACKING',
  'IMAGE_BUILDING',
  'RESETTING',
  'ADDONS_SYNCING',
  'SQUID_SYNCING',
  'ADDING_INGRESS',
] as const
export type DeployStep = (typeof steps)[number]

export type Kill = {
  operation: 'first deployment' | 'update' | 'hard reset'
  /** The step during which the server is killed. */
  step: DeployStep
  /** The moment of the kill, as a fraction of the step's usual duration: 0 is its start, 1 its end. */
  fraction: number
}

/** Determines the moments at which tests kill servers. To repeat them, set SHOAL_TEST_SEED to the seed that the earlier test run printed. */
export const seed = Number(process.env['SHOAL_TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))

/**
 * Returns `count` kills, spread evenly over the steps. The seed determines their order and moments, and, if there are fewer kills
 * than steps, which steps have one.
 */
export function planKills(count: number): Kill[] {
  const killArbitrary = fc.record({
    order: fc.nat(),
    // Updates twice as often as the others.
    operation: fc.constantFrom<Kill['operation']>('first deployment', 'update', 'update', 'hard reset'),
    fraction: fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
  })
  const samples = fc.sample(killArbitrary, { seed, numRuns: count })
  const [shuffled = [...steps]] = fc.sample(fc.shuffledSubarray([...steps], { minLength: steps.length }), {
    seed,
    numRuns: 1,
  })
  return samples
    .map(({ order, operation, fraction }, index) => {
      const step = shuffled[index % steps.length] ?? 'UNPACKING'
      return { order, kill: { operation: step === 'RESETTING' ? ('hard reset' as const) : operation, step, fraction } }
    })
    .sort((a, b) => a.order - b.order)
    .map(({ kill }) => kill)
}
