import { z } from 'zod'
import { Time } from './fields.ts'

/** A maintenance that the operator has announced. */
export const Maintenance = z.object({
  message: z.string(),
  startsAt: Time,
  endsAt: Time,
  /** Whether users who are not operators see the maintenance screen instead of the console from start to end. */
  hasScreen: z.boolean(),
})
export type Maintenance = z.infer<typeof Maintenance>
