import { Link } from '@tanstack/react-router'
import { PageHeader } from '../../components/PageHeader.tsx'
import { cx } from '../../ui/classes.ts'
import { tabClass, tabListClass } from '../../ui/control-classes.ts'

/** The header of the two RPC pages (spec 2.11). */
export function RpcHeader() {
  return (
    <>
      <PageHeader
        title="RPC endpoints"
        context="JSON-RPC for many chains with one token, for squids and any other program."
      />
      <nav aria-label="RPC" className={cx(tabListClass, 'mb-4.5')}>
        <Link to="/rpc" activeOptions={{ exact: true, includeSearch: false }} className={tabClass}>
          Endpoints
        </Link>
        <Link to="/rpc/token" className={tabClass}>
          API token
        </Link>
      </nav>
    </>
  )
}
