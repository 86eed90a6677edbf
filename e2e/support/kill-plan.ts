import fc from 'fast-check'

/** The steps of a deployment. Only a hard reset has RESETTING. */
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
  /** The moment within the step's usual duration: 0 is its start, 1 its end. */
  part: number
}

/** `npm run test:full` sets it. */
export const isFull = process.env['SHOAL_TEST_FULL'] === 'true'

/** `SHOAL_TEST_SEED` repeats an earlier run. */
export const seed = Number(process.env['SHOAL_TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))

/**
 * Returns `count` kills, spread evenly over the steps. The seed determines their order and moments, and which steps are killed if
 * there are fewer kills than steps.
 */
export function planKills(count: number): Kill[] {
  const draw = fc.record({
    order: fc.nat(),
    operation: fc.constantFrom<Kill['operation']>('first deployment', 'update', 'update', 'hard reset'),
    part: fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
  })
  const drawn = fc.sample(draw, { seed, numRuns: count })
  const [shuffled = [...steps]] = fc.sample(fc.shuffledSubarray([...steps], { minLength: steps.length }), {
    seed,
    numRuns: 1,
  })
  return drawn
    .map(({ order, operation, part }, index) => {
      const step = shuffled[index % steps.length] ?? 'UNPACKING'
      return { order, kill: { operation: step === 'RESETTING' ? ('hard reset' as const) : operation, step, part } }
    })
    .sort((a, b) => a.order - b.order)
    .map(({ kill }) => kill)
}
