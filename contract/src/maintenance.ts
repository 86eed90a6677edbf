import { z } from 'zod'
import { Time } from './fields.ts'

/** A maintenance window that the operator has announced. */
export const Maintenance = z.object({
  message: z.string(),
  startsAt: Time,
  endsAt: Time,
  /** Whether, during the maintenance, users who are not operators see the maintenance screen instead of the console. */
  hasScreen: z.boolean(),
})
export type Maintenance = z.infer<typeof Maintenance>
