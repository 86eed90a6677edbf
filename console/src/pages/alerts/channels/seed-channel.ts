import type { AlertChannel } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { seed, withItem } from '../../../api/seed.ts'

/** Shows an added or changed channel in the list. */
export const seedChannel = (client: QueryClient, code: string, channel: AlertChannel): void =>
  seed(client, 'alerts.listChannels', { params: { code } }, (all) => withItem(all, channel, (other) => other.id))
