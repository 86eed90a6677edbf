import { lazyPart } from '../../lib/lazy.tsx'
import { Suspense } from 'react'
import { useSquids } from '../../api/squids.ts'
import { PageHeader } from '../../components/PageHeader.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { FailedFirstDeployments } from './FailedFirstDeployments.tsx'
import { SquidList } from './SquidList.tsx'

const DeployGuide = lazyPart(() => import('../../components/deploy-guide/DeployGuide.tsx'))

/** The list of squids, or the deploy guide if there are none (spec 2.7, `/squids`). */
export default function SquidsPage() {
  const squids = useSquids()
  return squids.data?.length === 0 ? <FirstSquid /> : <SquidList squids={squids} />
}

function FirstSquid() {
  return (
    <>
      <PageHeader title="Squids" context="No squids yet. Deploy your first one in four steps." />
      <FailedFirstDeployments squids={[]} />
      <Suspense fallback={<SkeletonRows count={8} />}>
        <DeployGuide />
      </Suspense>
    </>
  )
}
