import { sendMail } from '../mail/index.ts'
import { sendConfirmation, sendRestoreLink } from '../modules/auth/index.ts'

/** Jobs that are sent by what people do: their queues exist from the start, in every role. */
export const sendableJobs = [sendMail, sendConfirmation, sendRestoreLink]
