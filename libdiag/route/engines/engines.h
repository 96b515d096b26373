// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The engines, each in the file of its name beside this one; engines.cpp lists them.
#pragma once

#include "libdiag/route/engine.h"
#include "libdiag/route/up_down/up_down.h"

namespace ib::route {

/// Every LID by a path of fewest hops, loads even. No promise about deadlocks.
Result<Routes> minhop(const Request& request);
Result<CandidateRule> minhop_candidates(const Request& request);

/// Fewest hops, dimension order by the order of ports, parallel links balanced. No promise about
/// deadlocks.
Result<Routes> dor(const Request& request);

/// Paths climb towards the roots, then descend: never a credit loop, whatever the fabric.
Result<Routes> updn(const Request& request);
/// The order its candidates (up_down_candidates) come from; `notes` gets what an operator should
/// know about the roots.
Result<UpDownOrder> updn_order(const Request& request, std::vector<std::string>& notes);
Result<CandidateRule> updn_candidates(const Request& request);

/// Tables spread over the candidates of an order, with the promise and the multicast rule that
/// come with it.
Routes up_down_routes(const Request& request, std::string engine, const UpDownOrder& order);

/// Fat trees: as updn, but loads are evened out over whole ways, and a fabric that is no tree is
/// refused. Never a credit loop.
Result<Routes> ftree(const Request& request);
Result<CandidateRule> ftree_candidates(const Request& request);

/// As updn, but the order grows from the switches with CAs instead of from roots.
Result<Routes> dnup(const Request& request);
UpDownOrder dnup_order(const Request& request);
Result<CandidateRule> dnup_candidates(const Request& request);

/// Fewest hops on trees with hosts above the leaves, loads even, no credit loop: pairs whose paths
/// descend before they climb have SLs of their own. An error on other fabrics and with one VL.
Result<Routes> valley(const Request& request);

/// Free of credit loops on any fabric with any number of VLs; paths are as short and loads as even
/// as that number allows.
Result<Routes> nue(const Request& request);

/// Tori and meshes of up to three dimensions, links and a switch missing or not. Promises freedom
/// from deadlocks; 2 VLs while no switch is missing, 4 when one is, 8 for two levels of service.
Result<Routes> torus_2qos(const Request& request);

/// Least hops on VLs by turn, for Dragonfly+ and other networks with short paths: no credit loop,
/// one SL for everybody. An error when the paths need more VLs than there are.
Result<Routes> dfp(const Request& request);

/// Fewest hops, and of those ways the one on whose links there is least. No promise about
/// deadlocks.
Result<Routes> sssp(const Request& request);
/// The same with as many VLs as free it from deadlocks; pairs are dealt over all there are.
Result<Routes> dfsssp(const Request& request);
/// One way of fewest hops from switch to switch, on as few VLs as free it from deadlocks.
Result<Routes> lash(const Request& request);

/// Parts of the fabric by engines of their own (Options::chain). An error names the step that does
/// not fit, or with which pairs are lost or a credit loop closes on all the VLs there are.
Result<Routes> chain(const Request& request);

/// Tables or hop counts that an operator saved (Options::tables), LIDs found again by port GUID.
Result<Routes> file(const Request& request);

}  // namespace ib::route
