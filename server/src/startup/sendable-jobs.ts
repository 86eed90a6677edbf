import { sendMailQueue } from '../mail/index.ts'
import { deliverQueue } from '../modules/alerts/index.ts'
import { confirmationQueue, restoreLinkQueue } from '../modules/auth/index.ts'
import { revocationQueue } from '../modules/certificates/index.ts'

/** Jobs that requests of users may send. Every role creates their queues at startup. */
export const sendableJobs = [sendMailQueue, confirmationQueue, restoreLinkQueue, deliverQueue, revocationQueue]
