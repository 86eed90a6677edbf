import { Outlet } from '@tanstack/react-router'
import { QueryView } from '../../components/QueryView.tsx'
import { useVersionQuery } from './use-version.ts'

/** Spec 2.9. */
export default function VersionPage() {
  return (
    <QueryView query={useVersionQuery()} what="This version">
      {() => <Outlet />}
    </QueryView>
  )
}
