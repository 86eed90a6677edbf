import { z } from 'zod'
import { endpoint } from './endpoint.ts'

export const PortalDataset = z.object({
  /** The slug in addresses, as in `ethereum-mainnet` (contract 6.6). */
  id: z.string(),
  title: z.string(),
  /** An address, or a path of this origin. Null: show the first letter of the title. */
  iconUrl: z.string().nullable(),
  type: z.string(),
  testnet: z.boolean(),
})
export type PortalDataset = z.infer<typeof PortalDataset>

export const PortalDatasetDetails = PortalDataset.extend({
  url: z.string(),
  /** Who answers: the portal this installation is connected to, or this installation from an RPC chain. Null: nobody. */
  source: z.enum(['portal', 'rpc']).nullable(),
  /** The RPC chain of the same network, where there is one. */
  chain: z.string().nullable(),
})
export type PortalDatasetDetails = z.infer<typeof PortalDatasetDetails>

export const portal = {
  listDatasets: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/portal/datasets',
    access: 'member',
    summary: 'Datasets of the Portal',
    payload: z.array(PortalDataset),
  }),
  getDataset: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/portal/datasets/{id}',
    access: 'member',
    summary: 'One dataset and where to stream it from',
    payload: PortalDatasetDetails,
  }),
}
