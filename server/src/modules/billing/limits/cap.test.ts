import { Big } from 'big.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reachedPercent, versionsToHibernate, type CapVersion } from './cap.ts'

const version = (id: number, perHour: number | string, hasTags = false): CapVersion => ({
  id,
  name: `squid-${id}`,
  hasTags,
  perHourUsd: new Big(perHour),
})

test('the spent share is rounded down to the warning thresholds of 75, 90 and 100 %', () => {
  const reached = ['74.99', '75', '89.99', '90', '99.99', '100', '250'].map((spent) =>
    reachedPercent(new Big(spent), new Big(100)),
  )
  expect(reached).toEqual([0, 75, 75, 90, 90, 100, 100])
})

test('spending exceeds the cap by at most 0.5 %, and versions with tags are hibernated last', () => {
  const versions = fc.array(fc.record({ cents: fc.integer({ min: 1, max: 800 }), hasTags: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  })
  fc.assert(
    fc.property(
      versions,
      fc.integer({ min: 20, max: 1_000 }),
      fc.integer({ min: 0, max: 5 }),
      (list, cap, storageUsd) => {
        let running = list.map((v, i) => version(i, (v.cents / 100).toString(), v.hasTags))
        const capUsd = new Big(cap)
        const order = running.map((v) => v.name).toReversed()
        let spentUsd = new Big(0)
        let hasStoppedTaggedVersion = false
        const minutes = 720 * 60
        // Checks once a minute, and skips minutes in which no version needs to be hibernated.
        for (let minute = 0; minute < minutes && running.length > 0;) {
          const perHourUsd = running.reduce((sum, v) => sum.plus(v.perHourUsd), new Big(0))
          const committedUsd = new Big(storageUsd).times(minutes - minute).div(minutes)
          const remainingUsd = capUsd.minus(spentUsd).minus(committedUsd)
          const toStop = versionsToHibernate({
            capUsd,
            spentUsd,
            committedUsd,
            versions: running,
            hibernateOrder: order,
          })
          for (const v of toStop) {
            if (v.hasTags) hasStoppedTaggedVersion = true
            else expect(hasStoppedTaggedVersion).toBe(false)
          }
          running = running.filter((v) => !toStop.includes(v))
          const safeMinutes = Math.floor(Number(remainingUsd.div(perHourUsd).minus(1).times(60).toFixed(3))) - 1
          const stepMinutes = Math.min(Math.max(1, safeMinutes), minutes - minute)
          const newPerHourUsd = running.reduce((sum, v) => sum.plus(v.perHourUsd), new Big(0))
          spentUsd = spentUsd
            .plus(newPerHourUsd.times(stepMinutes).div(60))
            .plus(new Big(storageUsd).times(stepMinutes).div(minutes))
          minute += stepMinutes
          if (running.length === 0) spentUsd = spentUsd.plus(new Big(storageUsd).times(minutes - minute).div(minutes))
        }
        expect(spentUsd.lte(capUsd.times('1.005'))).toBe(true)
      },
    ),
    { numRuns: 200 },
  )
})
