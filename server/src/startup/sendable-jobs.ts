import { sendMail } from '../mail/index.ts'
import { sendConfirmation, sendRestoreLink } from '../modules/auth/index.ts'

/** Jobs that requests of users may send. Every role creates their queues at startup. */
export const sendableJobs = [sendMail, sendConfirmation, sendRestoreLink]
