import { NavTabs } from '../../components/NavTabs.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'

const tabs = [
  { to: '/rpc', label: 'Endpoints' },
  { to: '/rpc/token', label: 'API token' },
] as const

/** The header of the two RPC pages (spec 2.11). `tab` names the open one in the title of the browser tab; the list of endpoints needs no name. */
export function RpcHeader({ tab }: { tab?: string }) {
  return (
    <>
      <PageHeader
        title="RPC endpoints"
        tab={tab}
        context="JSON-RPC for many chains with one token, for squids and any other program."
      />
      <NavTabs label="RPC" tabs={tabs} />
    </>
  )
}
