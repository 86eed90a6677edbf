import { z } from 'zod'
import { Time } from './fields.ts'

/** A maintenance that the operator has announced. */
export const Maintenance = z.object({ message: z.string(), startsAt: Time, endsAt: Time })
export type Maintenance = z.infer<typeof Maintenance>
