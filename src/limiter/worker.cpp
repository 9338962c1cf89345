#include "limiter/worker.h"

namespace rate_limit {

namespace {

Worker the_only_one;  // current unless another one is made so

}  // namespace

Worker* Worker::current_ = &the_only_one;

}  // namespace rate_limit
