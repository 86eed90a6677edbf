import { z } from 'zod'
import { endpoint } from './endpoint.ts'

export const PortalDataset = z.object({
  /** The slug in URLs, such as `ethereum-mainnet`. */
  id: z.string(),
  title: z.string(),
  /** A URL, or a path on this origin. Null if there is no icon; the console then shows the first letter of the title. */
  iconUrl: z.string().nullable(),
  /** The kind of chain, such as `evm`. */
  type: z.string(),
  testnet: z.boolean(),
})
export type PortalDataset = z.infer<typeof PortalDataset>

export const PortalDatasetDetails = PortalDataset.extend({
  url: z.string(),
  /** Where the data comes from: `portal`, the portal of `SHOAL_PORTAL_URL`; `rpc`, this installation's nodes of `chain`. Null if unavailable. */
  source: z.enum(['portal', 'rpc']).nullable(),
  /** The RPC chain of the same network, if any. */
  chain: z.string().nullable(),
})
export type PortalDatasetDetails = z.infer<typeof PortalDatasetDetails>

export const portal = {
  listDatasets: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/portal/datasets',
    access: 'member',
    scope: 'read',
    summary: 'Datasets of the Portal',
    payload: z.array(PortalDataset),
  }),
  getDataset: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/portal/datasets/{id}',
    access: 'member',
    scope: 'read',
    summary: 'One dataset and its streaming URL',
    payload: PortalDatasetDetails,
  }),
}
